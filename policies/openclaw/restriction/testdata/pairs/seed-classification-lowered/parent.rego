package openclaw.enterprise.data
default classification = "confidential"
classification = "restricted" {
input.data.source == "unknown"
}
classification = input.data.source_classification {
input.data.derived == true
}
