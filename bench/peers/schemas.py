"""The columns of the data sets, name -> kind."""

SCHEMAS = {
    "events": {
        "event_id": "long",
        "user_id": "long",
        "event_type": "string",
        "price": "double",
        "ts": "timestamp",
        "country": "string",
        "ok": "boolean",
    },
    "keys": {"k": "long", "name": "string", "v": "long", "ts": "timestamp"},
    "impressions": {"imp_id": "long", "ad_id": "long", "ts": "timestamp"},
    "clicks": {"imp_id": "long", "ts": "timestamp"},
}
