// Package codec turns records of JSON, CSV and text into columns and back.
//
// Reading is directed by the schema: a Reader knows the columns that are wanted, a Decoder fills them record
// by record without an object per row or per field, and gives them away as vectors. Whatever a record has
// beyond the wanted columns is skipped. A record that does not fit is treated as Spark's parse modes say.
//
// Texts of numbers, dates and timestamps are those of Spark's CAST; patterns (yyyy-MM-dd) are those of its
// date functions.
package codec
