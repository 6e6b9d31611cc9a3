"""The board of exercise 25: a student's functions in the place of the reference's, one or all."""
