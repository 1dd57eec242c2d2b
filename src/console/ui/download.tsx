import { useState } from "preact/hooks";
import { type Endpoint, failureFrom, fetchRaw, type Input, urlOf } from "../api/call.ts";
import { Button } from "./button.tsx";
import { say } from "./toast.tsx";

/** Downloads what an address answers with. */
export function download(url: string, filename = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
}

/** Saves a text or file under a name. */
export function save(content: Blob, filename: string): void {
  const url = URL.createObjectURL(content);
  download(url, filename);
  // The browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A list as CSV: a link could not say that it accepts CSV. */
export function CsvButton<T>({ to, input, name }: { to: Endpoint<T[]>; input: Input; name: string }) {
  const [is_busy, setBusy] = useState(false);
  const fetchCsv = async () => {
    setBusy(true);
    try {
      const url = urlOf(to, { ...input, page: undefined, limit: undefined });
      const response = await fetchRaw(url, { headers: { accept: "text/csv" } });
      save(await response.blob(), `${name.toLowerCase().replaceAll(/\W+/g, "_")}.csv`);
    } catch (error) {
      say(failureFrom(error).message, "bad");
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button kind="quiet" icon="download" is_busy={is_busy} onClick={() => void fetchCsv()}>
      CSV
    </Button>
  );
}
