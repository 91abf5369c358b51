-- title: where records enter a verification
-- params: none
-- returns: nothing
CREATE TABLE landing AS retrospan.landing
ENGINE = Null
