"""The pure core: values in, values out, standard library only (design section 6)."""
