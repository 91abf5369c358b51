"""Alerts: rules over the views, evaluated at intervals, and what tells people."""
