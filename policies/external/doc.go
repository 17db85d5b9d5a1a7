// Package external holds the data of DataSources, which policies read at data.external["name"].
//
// Invariant: a policy never takes data that is missing for data that is empty. Reading the data of
// a DataSource that has none is an error.
package external
