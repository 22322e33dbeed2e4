"""Looking at a deployment from outside: reading its output topics, folding them into rows and curves, drawing."""
