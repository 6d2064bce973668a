"""What is made for a class: each module fills one folder of OUT, or helps those that do."""
