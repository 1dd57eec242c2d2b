import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Failure } from "../api/call.ts";
import type { Loaded } from "../api/cache.ts";
import { Button, CopyButton } from "./button.tsx";

/** Grey bars where something is coming, shown once it has taken 150 ms. */
export function Skeleton({ rows = 3 }: { rows?: number }) {
  const [is_late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setLate, 150, true);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {is_late && Array.from({ length: rows }, (_, i) => <div key={i} class="bar" />)}
    </div>
  );
}

/** What the service said, in place of what it refused, with the request's id and a way to try again. */
export function FailureNotice(props: {
  failure: Failure;
  onRetry?: () => void;
  /** Whether it is being tried again. */
  is_busy?: boolean;
}) {
  const { failure, onRetry, is_busy = false } = props;
  const wait_s = useCountdown(failure);
  return (
    <div class="notice bad" role="alert">
      <p>{sentence(failure)}</p>
      {failure.request_id && (
        <p class="soft">
          Request <code>{failure.request_id}</code>
        </p>
      )}
      {onRetry && failure.status !== 403 && (
        <Button is_busy={is_busy} disabled={wait_s > 0} onClick={onRetry}>
          {is_busy ? "Trying again" : wait_s > 0 ? `Try again in ${wait_s} s` : "Try again"}
        </Button>
      )}
    </div>
  );
}

function sentence({ message }: Failure): string {
  return /[.?!]$/.test(message) ? message : `${message}.`;
}

function useCountdown(failure: Failure): number {
  const [left_s, setLeft] = useState(failure.retry_after_s ?? 0);
  useEffect(() => {
    setLeft(failure.retry_after_s ?? 0);
    if (failure.retry_after_s === null) return undefined;
    const timer = setInterval(() => setLeft((s) => Math.max(0, s - 1)), 1_000);
    return () => clearInterval(timer);
  }, [failure]);
  return left_s;
}

/** None yet: what it is for, the first act, and the same by the interface. */
export function Empty(props: {
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
  curl?: string;
}) {
  const { title, children, action, curl } = props;
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p class="soft">{children}</p>}
      {action && <div class="actions">{action}</div>}
      {curl !== undefined && (
        <details>
          <summary>The same with curl</summary>
          <pre tabIndex={0}>
            <code>{curl}</code>
          </pre>
          <CopyButton text={curl} />
        </details>
      )}
    </div>
  );
}

/** What was loaded, or why it was not; an old answer stays, dimmed, until the new one is there. */
export function Await<T>(props: {
  of: Loaded<T>;
  rows?: number;
  children: (data: T, meta: NonNullable<Loaded<T>["answer"]>["meta"]) => ComponentChildren;
}) {
  const { of, rows, children } = props;
  const { answer, failure, is_loading, reload } = of;
  const notice = failure && failure.status !== 401 && (
    <FailureNotice failure={failure} onRetry={reload} is_busy={is_loading} />
  );
  if (answer === undefined && notice) return notice;
  if (answer === undefined) return <Skeleton {...(rows !== undefined && { rows })} />;
  return (
    <div class={is_loading ? "dimmed" : undefined} aria-busy={is_loading}>
      {notice}
      {children(answer.data, answer.meta)}
    </div>
  );
}
