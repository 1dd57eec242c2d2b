import { passwordProblem } from "./password_policy.ts";

/** Settings as they were read: one that can't be used is undefined. */
type ReadSettings = Readonly<Record<string, unknown>>;

/** What is wrong with settings that can each be used, but not together. */
export function findConflicts(values: ReadSettings): string[] {
  const problems = [
    ...instanceProblems(values),
    ...usageProblems(values),
    ...documentProblems(values),
    ...backupProblems(values),
    ...adminProblems(values),
    ...keyProblems(values),
  ];
  const { metrics_port, port } = values;
  if (metrics_port !== null && metrics_port !== 0 && metrics_port === port)
    problems.push("METRICS_PORT must be another than PORT");
  return problems;
}

/** What instances must have in common: each would otherwise have its own. */
const SHARED = {
  DATABASE_URL: "database_url",
  USAGE_URL: "usage_url",
  JWT_SECRET: "jwt_secret",
  DOCUMENTS_URL: "documents_url",
  PUBLIC_URL: "public_url",
};

function instanceProblems(values: ReadSettings): string[] {
  if (values.instance_url === null) return [];
  const missing = Object.entries(SHARED).filter(([, key]) => values[key] === null);
  return missing.map(([name]) => `INSTANCE_URL needs ${name}, the same for every instance`);
}

function usageProblems({ usage_url, database_url, instance_url }: ReadSettings): string[] {
  // With INSTANCE_URL it is said already.
  if (usage_url === null || database_url !== null || instance_url !== null) return [];
  return ["USAGE_URL needs DATABASE_URL: PostgreSQL has who stores which events"];
}

function documentProblems(values: ReadSettings): string[] {
  if (values.documents_url === null) return [];
  const keys = { AWS_ACCESS_KEY_ID: "aws_access_key_id", AWS_SECRET_ACCESS_KEY: "aws_secret_access_key" };
  const missing = Object.entries(keys).filter(([, key]) => values[key] === null);
  return missing.map(([name]) => `DOCUMENTS_URL needs ${name}`);
}

function backupProblems({ backup_url, backup_at, backup_log, database_url }: ReadSettings): string[] {
  const problems: string[] = [];
  if (backup_at !== null && backup_url === null) problems.push("BACKUP_AT needs BACKUP_URL");
  if (backup_log !== null && backup_url === null) problems.push("BACKUP_LOG needs BACKUP_URL");
  if (backup_log !== null && database_url !== null)
    problems.push(
      "BACKUP_LOG must be unset with DATABASE_URL: PostgreSQL archives its log itself (archive_mode)",
    );
  return problems;
}

function adminProblems({ admin_email, admin_password }: ReadSettings): string[] {
  if (typeof admin_email !== "string" || typeof admin_password !== "string") return [];
  const problem = passwordProblem(admin_password, admin_email);
  return problem === null ? [] : [`ADMIN_PASSWORD ${problem}`];
}

function keyProblems({ fpx_private_key_file, fpx_private_key_sellers }: ReadSettings): string[] {
  const is_key_file_set = fpx_private_key_file !== null;
  if (is_key_file_set && fpx_private_key_sellers === null)
    return ["FPX_PRIVATE_KEY_SELLERS must name who signs with FPX_PRIVATE_KEY_FILE"];
  if (!is_key_file_set && fpx_private_key_sellers !== null)
    return ["FPX_PRIVATE_KEY_SELLERS needs FPX_PRIVATE_KEY_FILE"];
  return [];
}
