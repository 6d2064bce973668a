"""The solutions of the exercises, one file a lesson, each with the table of its exercises and their cases."""
