{{ part(what, "(" ~ column ~ ", t." ~ t.id ~ ") > (" ~ value ~ ", " ~ seen_id ~ ")") -}}
