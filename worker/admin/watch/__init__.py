"""Watch a deployment from outside: read its output topics, aggregate them into rows and curves, and render them."""
