CREATE TABLE {{ t.table }} (
{% for c in columns %}
    {{ c.name }} {{ c.type }}{% if not c.null %} NOT NULL{% else %} NULL{% endif %}{% if c.generated %} AUTO_INCREMENT{% endif %}{% if c.default %} DEFAULT {{ c.default }}{% endif %}{% if c.comment %} COMMENT {{ t.dialect.literal(c.comment) }}{% endif %},
{% endfor %}
    PRIMARY KEY ({{ t.id }}){{ "," if indexes }}
{% for i in indexes %}
    -- {{ i.serves }} {{ i.relies }} on it.
    {{ "UNIQUE " if i.unique }}KEY {{ i.name }} ({{ i.columns | join(", ") }}){{ "," if not loop.last }}
{% endfor %}
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
{% if t.fate == "table" %}

-- Dead letters.
CREATE TABLE {{ t.dead_table }} (
{% for c in dead_columns %}
    {{ c.name }} {{ c.type }}{% if not c.null %} NOT NULL{% else %} NULL{% endif %}{% if c.default %} DEFAULT {{ c.default }}{% endif %},
{% endfor %}
{% for name, type, time in extras %}
    {{ name }} {{ type }} NULL,
{% endfor %}
    PRIMARY KEY ({{ t.id }}){{ "," if dead_indexes }}
{% for i in dead_indexes %}
    -- {{ i.serves }} {{ i.relies }} on it.
    KEY {{ i.name }} ({{ i.columns | join(", ") }}){{ "," if not loop.last }}
{% endfor %}
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
{% endif %}
