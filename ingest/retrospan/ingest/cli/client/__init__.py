"""The collector as commands see it: its SQL port, questions, references to runs, typed rows, errors."""
