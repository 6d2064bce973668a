"""The games of the lessons: `from vit_tutorial.play import beat_the_map`. Each can be clicked, or played by calls."""
