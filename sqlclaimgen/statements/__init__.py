"""Table and dialect to the statements of its form."""

from sqlclaimgen.statements.model import Index as Index
from sqlclaimgen.statements.model import Parameter as Parameter
from sqlclaimgen.statements.model import Plan as Plan
from sqlclaimgen.statements.model import Statement as Statement
from sqlclaimgen.statements.planning import plan as plan
