-- title: make room for the view `logs`, which is installed after the migrations
DROP TABLE IF EXISTS logs SYNC
