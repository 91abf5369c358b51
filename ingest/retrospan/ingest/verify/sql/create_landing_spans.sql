-- title: where records of spans enter a verification
-- params: none
-- returns: nothing
CREATE TABLE landing_spans AS retrospan.landing
ENGINE = Null
