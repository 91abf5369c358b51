"""What each model call was given: the whole history, whatever part of it was sent."""
