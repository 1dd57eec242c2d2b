import { useState } from "preact/hooks";
import type { SubscriptionAddOn } from "../../../billing/subscription_add_ons/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { number } from "../../text/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { DecimalField, TimeField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { ADD_ONS } from "../../ui/sources.ts";
import { addBooking, listBookings, removeBooking } from "./calls.ts";

/** The add-ons that a subscription has booked. */
export function Bookings({ of }: { of: SubscriptionDetail }) {
  const bookings = useAnswer(listBookings, { id: of.id, page: 1, limit: 50 });
  const add_ons = useAnswer(ADD_ONS.from, { page: 1, limit: 100 });
  const [is_open, setOpen] = useState(false);
  const [removing, setRemoving] = useState<SubscriptionAddOn>();
  const nameOf = (id: number) => add_ons.answer?.data.find((one) => one.id === id)?.name ?? `#${id}`;
  const can_write = may("subscriptions:write");
  return (
    <Section
      title="Add-ons"
      actions={
        can_write && of.status === "active" && <Button onClick={() => setOpen(true)}>Book add-on</Button>
      }
    >
      <Await of={bookings} rows={1}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">None booked.</p>
          ) : (
            <Table
              label="Add-ons"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: "Add-on", cell: ({ add_on_id }) => nameOf(add_on_id) },
                { title: "Quantity", is_figure: true, cell: ({ quantity }) => number(quantity) },
                { title: "From", cell: ({ from }) => <Time at={from} /> },
                { title: "Until", cell: ({ until }) => <Time at={until} />, is_minor: true },
                {
                  title: "Acts",
                  cell: (booking) =>
                    can_write && (
                      <Button kind="quiet" onClick={() => setRemoving(booking)}>
                        Remove
                      </Button>
                    ),
                },
              ]}
            />
          )
        }
      </Await>
      {is_open && (
        <FormDialog
          title="Book an add-on"
          onClose={() => setOpen(false)}
          schema="AddSubscriptionAddOn"
          act="Book"
          initial={{ quantity: "1" }}
          submit={(values, key) => write(addBooking, { ...values, id: of.id }, { key })}
        >
          {(form) => (
            <>
              <PickField form={form} name="add_on_id" label="Add-on" source={ADD_ONS} />
              <DecimalField form={form} name="quantity" label="Quantity" />
              <div class="field-row">
                <TimeField
                  form={form}
                  name="from"
                  label="From"
                  help="Left empty: now. The past is adjusted."
                />
                <TimeField
                  form={form}
                  name="until"
                  label="Until"
                  help="Left empty: as long as the subscription lives."
                />
              </div>
            </>
          )}
        </FormDialog>
      )}
      {removing && (
        <Confirm
          title="Remove this add-on?"
          act="Remove add-on"
          onClose={() => setRemoving(undefined)}
          run={(key) => write(removeBooking, { id: of.id, bookingId: removing.id }, { key })}
        >
          <p>
            It is taken away as if it had never been booked: bills of closed periods that have it are
            adjusted. To end it later, book it with an end.
          </p>
        </Confirm>
      )}
    </Section>
  );
}
