"""What the checks of exercise 25 need: the student's functions within the reference's model."""
