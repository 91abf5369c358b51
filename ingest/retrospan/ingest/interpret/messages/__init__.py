"""Messages in every form in which they are sent, read into that of the OTel GenAI conventions. Knows no span."""
