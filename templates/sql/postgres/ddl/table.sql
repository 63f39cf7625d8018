CREATE TABLE {{ t.table }} (
{% for c in columns %}
    {{ c.name }} {{ c.type }}{% if c.generated %} GENERATED ALWAYS AS IDENTITY{% endif %}{% if c.id %} PRIMARY KEY{% elif not c.null %} NOT NULL{% endif %}{% if c.default %} DEFAULT {{ c.default }}{% endif %}{{ "," if not loop.last }}
{% endfor %}
){% if storage %} WITH (
    {{ storage | join(",\n    ") }}
){% endif %};
{% for i in indexes %}

-- {{ i.serves }} {{ i.relies }} on it.
CREATE {{ "UNIQUE " if i.unique }}INDEX {{ i.name }} ON {{ t.table }}
    ({{ i.columns | join(", ") }}){% if i.where %} WHERE {{ i.where }}{% endif %};
{% endfor %}
{% for c in columns if c.comment %}
{{ "\n" if loop.first }}COMMENT ON COLUMN {{ t.table }}.{{ c.name }} IS {{ t.dialect.literal(c.comment) }};
{% endfor %}
{% if t.fate == "table" %}

-- Dead letters.
CREATE TABLE {{ t.dead_table }} (
{% for c in dead_columns %}
    {{ c.name }} {{ c.type }}{% if c.id %} PRIMARY KEY{% elif not c.null %} NOT NULL{% endif %}{% if c.default %} DEFAULT {{ c.default }}{% endif %}{{ "," if extras or not loop.last }}
{% endfor %}
{% for name, type, time in extras %}
    {{ name }} {{ type }}{{ "," if not loop.last }}
{% endfor %}
);
{% for i in dead_indexes %}

-- {{ i.serves }} {{ i.relies }} on it.
CREATE INDEX {{ i.name }} ON {{ t.dead_table }}
    ({{ i.columns | join(", ") }});
{% endfor %}
{% endif %}
