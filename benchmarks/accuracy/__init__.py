"""How often citespan is wrong about real agents: correct calls that it refuses, wrong ones that it lets through."""
