{# The claim moves them itself, in its one statement. #}
