package openclaw.enterprise.models
default allow = false
# Allow internal models for all data classifications
allow {
input.model.provider == "internal"
}
# Allow external models only for public data
allow {
input.model.provider == "external"
input.data.classification == "public"
}
# Block external models for confidential and above
deny {
input.model.provider == "external"
input.data.classification == "confidential"
}
deny {
input.model.provider == "external"
input.data.classification == "restricted"
}
