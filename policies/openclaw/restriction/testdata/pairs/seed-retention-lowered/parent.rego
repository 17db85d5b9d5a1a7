package openclaw.enterprise.audit
default retention_days = 365
retention_days = 365 {
true
}
allow_delete = false
allow_update = false
