-- title: note what was decided to tell whom, or what became of telling one target
-- params: alert_id String, rule String, targets Array(String), event String, at Int64, since Int64, until Int64, matched UInt64, reason String
-- returns: nothing
INSERT INTO alert_events (alert_id, rule, target, event, at, since, until, matched, reason)
SELECT
    {alert_id:String},
    {rule:String},
    arrayJoin({targets:Array(String)}),
    {event:String},
    fromUnixTimestamp64Milli({at:Int64}, 'UTC'),
    fromUnixTimestamp64Milli({since:Int64}, 'UTC'),
    fromUnixTimestamp64Milli({until:Int64}, 'UTC'),
    {matched:UInt64},
    {reason:String}
