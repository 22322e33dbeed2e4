"""Monitoring of the champion: drift detectors on its errors, and tests of its challengers."""
