"""What a class needs, made of the lessons in one run: python -m vit_tutorial.classroom OUT. See TEACHING.md."""
