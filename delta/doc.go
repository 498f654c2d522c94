// Package delta speaks the Delta table protocol: a table is a folder of immutable Parquet files and a log,
// _delta_log, whose numbered entries say which of them are the table.
//
// Reading starts at a Log (one table's folder): Log.Snapshot replays checkpoint and commits into a Snapshot,
// the table at one version: protocol, metadata, live files, application transactions, domains. Snapshot.Scan
// plans its data files as partitions, leaves out files whose partition values or statistics rule them out,
// applies deletion vectors and column mapping.
//
// Writing is a Txn: it begins at a snapshot, collects actions and is published by creating the next log
// entry, which must not exist yet. Whoever creates it wins; the loser looks at what the winners did and
// either goes on at the next version or fails with the conflict's name.
//
// What the log says is not trusted: paths that lead out of the table's folder, versions that do not follow
// each other and features that are not known are named errors.
//
// Files: action (lines of the log), log (listing), replay, checkpoint, snapshot (state), schema and mapping
// (columns), paths, dv (deletion vectors), stats, parquet (data files), scan, txn and conflict (commits),
// write (data files to be), feature (protocol), changes (change data feed), history, maintain.
package delta
