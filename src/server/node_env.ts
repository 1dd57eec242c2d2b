// Imported before all else: libraries look at NODE_ENV when they load, and outside of production one of them
// writes every refused body out, indented, which takes seconds and gigabytes for a hostile one.
process.env.NODE_ENV ??= "production";

// Files that this process makes are 0600 and folders 0700, whoever makes them: databases with their logs, spilled
// queries, exports, documents, rejected rows of an import.
process.umask(0o077);
