-- title: say something of parts
-- params: parts Array(UInt16), holder String, state String
-- returns: nothing
INSERT INTO leases (part, holder, state)
SELECT
    arrayJoin({parts:Array(UInt16)}),
    {holder:String},
    {state:String}
