{% macro check(c) %}{% if c.time %} CHECK (typeof({{ c.name }}) IN ('integer'{{ ", 'null'" if c.null }})){% elif c.json %} CHECK ({{ c.name ~ " IS NULL OR " if c.null }}json_valid({{ c.name }})){% endif %}{% endmacro %}
-- Times are integers: microseconds since 1970, UTC.
CREATE TABLE {{ t.table }} (
{% for c in columns %}
    {{ c.name }} {{ c.type }}{% if c.generated %} PRIMARY KEY AUTOINCREMENT{% elif c.id %} NOT NULL PRIMARY KEY{% elif not c.null %} NOT NULL{% endif %}{% if c.default %} DEFAULT {{ c.default }}{% endif %}{{ check(c) }}{{ "," if not loop.last }}{% if c.comment %} -- {{ c.comment }}{% endif %}

{% endfor %}
);
{% for i in indexes %}

-- {{ i.serves }} {{ i.relies }} on it.
CREATE {{ "UNIQUE " if i.unique }}INDEX {{ t.dialect.quote(t.described.schema) ~ "." if t.described.schema }}{{ i.name }} ON {{ t.dialect.quote(t.described.name) }}
    ({{ i.columns | join(", ") }}){% if i.where %} WHERE {{ i.where }}{% endif %};
{% endfor %}
{% if t.fate == "table" %}

-- Dead letters.
CREATE TABLE {{ t.dead_table }} (
{% for c in dead_columns %}
    {{ c.name }} {{ c.type }}{% if c.id %} NOT NULL PRIMARY KEY{% elif not c.null %} NOT NULL{% endif %}{% if c.default %} DEFAULT {{ c.default }}{% endif %}{{ check(c) }}{{ "," if extras or not loop.last }}
{% endfor %}
{% for name, type, time in extras %}
    {{ name }} {{ type }}{{ "," if not loop.last }}
{% endfor %}
);
{% for i in dead_indexes %}

-- {{ i.serves }} {{ i.relies }} on it.
CREATE INDEX {{ t.dialect.quote(t.described.dead_letter.schema) ~ "." if t.described.dead_letter.schema }}{{ i.name }} ON {{ t.dialect.quote(t.described.dead_letter.name) }}
    ({{ i.columns | join(", ") }});
{% endfor %}
{% endif %}
