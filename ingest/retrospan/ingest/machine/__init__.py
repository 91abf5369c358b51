"""The machine a collector runs on: its system, memory, processor, disk and ports."""
