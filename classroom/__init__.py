"""What a class needs, made of the lessons in one run: python -m classroom OUT. See TEACHING.md."""
