"""What must hold in every run that is read rightly: where it does not, the run lists a doubt."""
