import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readConfig, SETTINGS } from "../../src/core/config.ts";
import { EXIT } from "../../src/core/exit_codes.ts";
import { LIMITS } from "../../src/server/limits.ts";
import { type Json, readMetrics, useService } from "../support/harness.ts";

// What deploy/ names must be the program's: settings, metrics, paths, its user and its exit codes.

const read = (file: string) => readFileSync(`deploy/${file}`, "utf8");
const yaml = (file: string): Json => Bun.YAML.parse(read(file));

const server = yaml("kustomize/base/server.yaml").spec.template.spec;
const [container] = server.containers;
const compose = yaml("compose.yaml").services.meterhouse;
const scaled: Json[] = ["meterhouse-1", "meterhouse-2"].map(
  (name) => yaml("compose.scaled.yaml").services[name],
);
const unit = read("meterhouse.service");
const dockerfile = readFileSync("Dockerfile", "utf8");

/** What the runtime reads itself. */
const OF_THE_RUNTIME = ["UV_THREADPOOL_SIZE"];
/** What other settings there are made of. */
const OF_KUBERNETES = ["POD_IP"];
const KNOWN = [...Object.values(SETTINGS).map(({ name }) => name), ...OF_THE_RUNTIME];

/** The patches of an overlay add settings to the container. */
function settingsOf(overlay: string): string[] {
  const [{ patch }] = yaml(`kustomize/overlays/${overlay}/kustomization.yaml`).patches;
  const changes: Json = Bun.YAML.parse(patch);
  return changes
    .filter(({ path }: { path: string }) => path.endsWith("/env/-"))
    .map(({ value }: { value: { name: string } }) => value.name);
}

test.each([
  ["compose.yaml", Object.keys(compose.environment)],
  ["meterhouse.service", [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name)],
  ["kustomize/base", container.env.map(({ name }: { name: string }) => name)],
  ["overlay embedded", settingsOf("embedded")],
  ["overlay postgres", settingsOf("postgres")],
  ["overlay scaled", settingsOf("scaled").filter((name) => !OF_KUBERNETES.includes(name))],
  ["compose.scaled.yaml", scaled.flatMap(({ environment }) => Object.keys(environment))],
  [
    "Dockerfile",
    [...dockerfile.matchAll(/\b([A-Z_]+)=\S+/g)]
      .map(([, name]) => name)
      .filter((name) => !name?.startsWith("COMMIT")),
  ],
  [
    "comments that name secrets",
    [
      ...`${read("compose.yaml")}${unit}${read("kustomize/base/server.yaml")}`.matchAll(
        /\b[A-Z]+_(?:KEY|SECRET|PASSWORD|URL)\b/g,
      ),
    ].map(([name]) => name),
  ],
])("%s names settings that exist", (_, names) => {
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name: string) => !KNOWN.includes(name))).toEqual([]);
});

const service = useService();

/** The names of all metrics that a service exports, as a query has them. */
async function exported(): Promise<string[]> {
  const types = [...String((await readMetrics(service)).body).matchAll(/^# TYPE (\S+) (\w+)$/gm)];
  return types.flatMap(([, name = "", type]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}

/** The metrics that a query of Prometheus reads. */
const metricsOf = (query: string) => query.match(/\b(?:meterhouse|process|nodejs)_\w+/g) ?? [];

test("alerts and dashboard ask for metrics that are exported", async () => {
  const names = await exported();
  const rules: {
    alert: string;
    expr: string;
    labels: { severity: string };
    annotations: { summary: string };
  }[] = yaml("alerts.yaml").groups.flatMap(({ rules: own }: { rules: object[] }) => own);
  const panels: { targets?: { expr: string }[] }[] = JSON.parse(read("grafana.json")).panels;
  const queries = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ];
  expect(queries.filter((query) => metricsOf(query).length === 0)).toEqual([]);
  expect(queries.flatMap(metricsOf).filter((name) => !names.includes(name))).toEqual([]);
  for (const { alert, labels, annotations } of rules) {
    expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(page|ticket)$/)]);
    expect(annotations.summary.length).toBeGreaterThan(10);
  }
});

/** What must wake somebody, and what must be seen within the day: the metrics whose alerts must be there. */
const ALERTS = {
  page: [
    "up",
    "ready",
    "http_requests_total",
    "usage_sums_different",
    "bills_unproved",
    "bills_failed",
    "money_held",
    "disk_free_bytes",
  ],
  ticket: [
    "job_last_success_timestamp",
    "backup_last_timestamp",
    "backup_verified_timestamp",
    "webhook_oldest_seconds",
    "mandate_orders_unknown",
    "usage_index_bytes",
  ],
};

test.each(Object.entries(ALERTS))("somebody is told: %s", (severity, wanted) => {
  const rules: { expr: string; labels: { severity: string } }[] = yaml("alerts.yaml").groups.flatMap(
    ({ rules: own }: { rules: object[] }) => own,
  );
  const asked = rules.filter(({ labels }) => labels.severity === severity).map(({ expr }) => expr);
  const missing = wanted.filter(
    (name) => !asked.some((expr) => new RegExp(`\\b(meterhouse_)?${name}\\b`).test(expr)),
  );
  expect(missing).toEqual([]);
});

test("containers and systemd start the program as its image, and know its paths and exit codes", () => {
  const user = /^USER (\d+):\1$/m.exec(dockerfile)?.[1];
  expect(server.securityContext).toMatchObject({
    runAsNonRoot: true,
    runAsUser: Number(user),
    fsGroup: Number(user),
  });
  expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true });
  expect(compose).toMatchObject({ read_only: true, cap_drop: ["ALL"], volumes: ["data:/data"] });
  expect(container.volumeMounts).toEqual([{ name: "data", mountPath: "/data" }]);
  expect(dockerfile).toContain("DATA_DIR=/data");
  const { livenessProbe, readinessProbe } = container;
  expect([livenessProbe.httpGet.path, readinessProbe.httpGet.path]).toEqual(["/health", "/ready"]);
  for (const line of [
    "Type=exec",
    "StateDirectory=meterhouse",
    "ProtectSystem=strict",
    "NoNewPrivileges=yes",
    "Restart=on-failure",
    `RestartPreventExitStatus=${EXIT.restart_is_no_help}`,
    "TimeoutStopSec=15",
  ])
    expect(unit.split("\n")).toContain(line);
});

test.skipIf(Bun.which("kubectl") === null).each(["embedded", "postgres", "scaled"])(
  "kubectl builds the overlay %s",
  (name) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      "kubectl",
      "kustomize",
      `deploy/kustomize/overlays/${name}`,
    ]);
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    expect(stdout.toString()).toContain("name: PUBLIC_URL");
  },
);

test("two servers have all that several instances need, and each an address and a folder of its own", () => {
  const shared = {
    JWT_SECRET: "s".repeat(40),
    DATABASE_URL: "postgres://meterhouse:p@postgres:5432/meterhouse",
    USAGE_URL: "http://meterhouse:p@clickhouse:8123/usage",
    DOCUMENTS_URL: "s3://documents/prefix?region=eu-central-1",
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "key",
  };
  const text = read("compose.scaled.yaml");
  for (const name of Object.keys(shared)) expect(text).toContain(name.startsWith("AWS_") ? "AWS_" : name);
  const configs = scaled.map(({ environment }) =>
    readConfig({ ...shared, ...environment, PUBLIC_URL: "https://billing.example.com" }),
  );
  expect(configs.map(({ instance_url }) => instance_url)).toEqual([
    "http://meterhouse-1:3000",
    "http://meterhouse-2:3000",
  ]);
  expect(scaled.map(({ volumes }) => volumes)).toEqual([["data-1:/data"], ["data-2:/data"]]);
  const proxied = /reverse_proxy (.*) \{/.exec(read("Caddyfile.scaled"))?.[1];
  expect(proxied?.split(" ").map((address) => `http://${address}`)).toEqual(
    configs.map(({ instance_url }) => instance_url ?? ""),
  );
});

test("one of several instances has the time to hand over its lanes before it stops", () => {
  const [{ patch }] = yaml("kustomize/overlays/scaled/kustomization.yaml").patches;
  const changes: Json[] = Bun.YAML.parse(patch) as Json[];
  const pod = changes.find(({ path }) => path.endsWith("/terminationGracePeriodSeconds"));
  const graces_s = [pod.value, ...scaled.map((one) => Number.parseInt(one.stop_grace_period, 10))];
  expect(graces_s).toHaveLength(3);
  for (const grace_s of graces_s)
    expect(grace_s * 1_000).toBeGreaterThan(LIMITS.leave_ms + LIMITS.shutdown_ms);
  expect(server.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(LIMITS.shutdown_ms);
});

test.skipIf(Bun.which("systemd-analyze") === null)("systemd takes the unit", () => {
  const { stderr } = Bun.spawnSync(["systemd-analyze", "verify", "deploy/meterhouse.service"]);
  // The executable is not installed where this runs.
  const problems = stderr
    .toString()
    .split("\n")
    .filter((line) => /meterhouse\.service/.test(line));
  expect(problems.filter((line) => !line.includes("is not executable"))).toEqual([]);
});
