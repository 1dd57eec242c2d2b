import type { ComponentChildren, ComponentProps } from "preact";
import { Filters } from "./filters.tsx";
import { Section } from "./page.tsx";
import { ListTable } from "./table.tsx";

/** A list of records as a part of a page: its heading, filters and table. */
export function List<Row extends { id: number }>(
  props: Omit<ComponentProps<typeof ListTable<Row>>, "keyOf"> & {
    title: string;
    filters?: ComponentChildren;
  },
) {
  const { title, filters, ...table } = props;
  return (
    <Section title={title}>
      {filters && <Filters query={table.query}>{filters}</Filters>}
      <ListTable<Row> keyOf={idOf} {...table} />
    </Section>
  );
}

const idOf = ({ id }: { id: number }) => id;
