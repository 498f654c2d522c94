"""The other side of `go run ./cmd/interop`: Spark, deltalake, DuckDB and pyarrow behind one pipe.

Every line of standard input is one call, {"call": name, "args": {...}}; its answer is one line of standard
output. Tables go over as files of Arrow's IPC format.
"""

import json
import os
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print is no answer
os.environ["TZ"] = "UTC"
time.tzset()

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

session = None


def versions():
    import deltalake, duckdb

    return {"pyarrow": pa.__version__, "deltalake": deltalake.__version__, "duckdb": duckdb.__version__}


def start_spark(jars, scratch):
    """The one JVM of all checks."""
    global session
    from pyspark.sql import SparkSession

    conf = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": scratch + "/warehouse",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -Dlog4j.rootLogger=ERROR -Dderby.system.home=" + scratch,
    }
    b = SparkSession.builder.master("local[2]").appName("interop")
    for k, v in conf.items():
        b = b.config(k, v)
    session = b.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return {"spark": session.version}


def spark_sql(statements):
    for s in statements:
        session.sql(s).collect()


def spark_stream(source, query, mode, sink, checkpoint, source_options, merge=None):
    """One query over a Delta table, to a Delta table, until nothing is left to read."""
    session.readStream.format("delta").options(**source_options).load(source).createOrReplaceTempView("source")
    w = session.sql(query).writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    if merge:

        def each(batch, _):
            batch.createOrReplaceTempView("batch")
            batch.sparkSession.sql(merge)

        w = w.outputMode("update").foreachBatch(each)
    else:
        w = w.outputMode(mode).format("delta").option("path", sink)
    q = w.start()
    q.awaitTermination()


def table_of(by, what, path):
    if by == "spark":
        r = session.read
        if what == "changes":
            return r.format("delta").option("readChangeFeed", "true").option("startingVersion", 0).load(path).drop("_commit_timestamp").toArrow()
        return r.format(what).load(path).toArrow()
    if by == "deltalake":
        from deltalake import DeltaTable, QueryBuilder

        t = DeltaTable(path)
        if what == "changes":
            return pa.table(t.load_cdf(starting_version=0).read_all()).drop_columns(["_commit_timestamp"])
        return pa.table(QueryBuilder().register("t", t).execute("SELECT * FROM t").read_all())
    if by == "duckdb":
        import duckdb

        duckdb.sql("SET TimeZone='UTC'")
        return pa.table(duckdb.sql(f"SELECT * FROM read_parquet('{path}/**/*.parquet', hive_partitioning=false)").to_arrow_table())
    if by == "pyarrow":
        return pq.ParquetDataset(path, partitioning=None).read()
    raise ValueError(by)


def read(by, what, path, out):
    t = table_of(by, what, path)
    with pa.OSFile(out, "wb") as f, pa.ipc.new_file(f, t.schema) as w:
        w.write_table(t)
    return {"rows": t.num_rows}


def arrow(file):
    with pa.memory_map(file) as f:
        return pa.ipc.open_file(f).read_all()


def deltalake_write(path, rows, mode="append", partition_by=None, configuration=None):
    from deltalake import write_deltalake

    write_deltalake(path, arrow(rows), mode=mode, partition_by=partition_by, configuration=configuration)


def deltalake_rows(path, columns):
    """Appends a few rows that are given as they are."""
    from deltalake import write_deltalake

    write_deltalake(path, pa.table(columns), mode="append")


def deltalake_change(path, delete=None, update=None, where=None, optimize=False, checkpoint=False):
    from deltalake import DeltaTable

    t = DeltaTable(path)
    if delete:
        t.delete(delete)
    if update:
        t.update(updates=update, predicate=where)
    if optimize:
        t.optimize.compact()
    if checkpoint:
        t.create_checkpoint()


def deltalake_merge(path, rows, on):
    from deltalake import DeltaTable

    t = DeltaTable(path)
    m = t.merge(source=arrow(rows), predicate=on, source_alias="s", target_alias="t")
    m.when_matched_update_all().when_not_matched_insert_all().execute()


def parquet_write(by, rows, path, options):
    t = arrow(rows)
    os.makedirs(path, exist_ok=True)
    if by == "pyarrow":
        pq.write_table(t, path + "/part-0.parquet", **options)
        return
    import duckdb

    duckdb.register("rows", t)
    given = "".join(f", {k} {v}" for k, v in options.items())
    duckdb.sql(f"COPY rows TO '{path}/part-0.parquet' (FORMAT parquet{given})")


for line in sys.stdin:
    request = json.loads(line)
    try:
        result = globals()[request["call"]](**(request.get("args") or {}))
        answer = {"result": result}
    except BaseException as e:
        answer = {"error": f"{type(e).__name__}: {e}"[:2000]}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
