UPDATE grid SET embedded = true WHERE NOT embedded
