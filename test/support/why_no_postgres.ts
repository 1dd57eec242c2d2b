/**
 * Why PostgreSQL can't be started here, or null. It refuses to run as root; in CI an unprivileged user is
 * made for it, elsewhere the machine is left as it is.
 */
export function whyNoPostgres(): string | null {
  if (process.getuid?.() !== 0 || process.env.CI !== undefined || hasPostgresUser()) return null;
  return "PostgreSQL does not run as root: run the tests as another user, add a user named postgres, or set CI=true";
}

function hasPostgresUser(): boolean {
  return Bun.spawnSync(["id", "-u", "postgres"]).exitCode === 0;
}
