// Package stores runs the stores of records against servers: an S3 server, a Google Cloud Storage
// server, and a double of Azure Blob Storage. It is a module of its own, because the servers have
// many dependencies.
package stores
