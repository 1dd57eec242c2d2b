import { useState } from "preact/hooks";
import type { SubscriptionAddOn } from "../../../billing/subscription_add_ons/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { number } from "../../text/number.ts";
import { fieldTime } from "../../text/time.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { DecimalField, TimeField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { ADD_ONS } from "../../ui/sources.ts";
import { addBooking, changeBooking, listBookings, removeBooking } from "./calls.ts";
import { type Answer, Failure } from "../../api/call.ts";

/** The end of a booking as its field has it. */
const endOf = ({ until }: SubscriptionAddOn) => (until === null ? "" : fieldTime(until));

/** The add-ons that a subscription has booked. */
export function Bookings({ of }: { of: SubscriptionDetail }) {
  const bookings = useAnswer(listBookings, { id: of.id, page: 1, limit: 50 });
  const add_ons = useAnswer(ADD_ONS.from, { page: 1, limit: 100 });
  const [is_open, setOpen] = useState(false);
  const [chosen, setChosen] = useState<{ act: "change" | "remove"; of: SubscriptionAddOn }>();
  const close = () => setChosen(undefined);
  const nameOf = (id: number) => add_ons.answer?.data.find((one) => one.id === id)?.name ?? `#${id}`;
  const can_write = may("subscriptions:write");
  const acts = (booking: SubscriptionAddOn) => (
    <>
      <Button kind="quiet" onClick={() => setChosen({ act: "change", of: booking })}>
        Change
      </Button>
      <Button kind="quiet" onClick={() => setChosen({ act: "remove", of: booking })}>
        Remove
      </Button>
    </>
  );
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
              {...(can_write && { acts })}
              columns={[
                { title: "Add-on", cell: ({ add_on_id }) => nameOf(add_on_id) },
                { title: "Quantity", is_figure: true, cell: ({ quantity }) => number(quantity) },
                { title: "From", cell: ({ from }) => <Time at={from} /> },
                { title: "Until", cell: ({ until }) => <Time at={until} />, is_minor: true },
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
      {chosen?.act === "change" && (
        <ChangeBooking of={chosen.of} name={nameOf(chosen.of.add_on_id)} onClose={close} />
      )}
      {chosen?.act === "remove" && (
        <Confirm
          title="Remove this add-on?"
          act="Remove add-on"
          onClose={close}
          run={(key) => write(removeBooking, { id: of.id, bookingId: chosen.of.id }, { key })}
        >
          <p>It ends now, and is charged until then. One that has not begun never does.</p>
        </Confirm>
      )}
    </Section>
  );
}

/** A booking as it is now. Errors: Failure when there is none any more. */
async function findBooking({ subscription_id, id }: SubscriptionAddOn): Promise<Answer<SubscriptionAddOn>> {
  const { data: bookings } = await readAnew(listBookings, { id: subscription_id, limit: 100 });
  const found = bookings.find((booking) => booking.id === id);
  if (found === undefined) throw new Failure("This add-on is not booked any more");
  return { data: found };
}

function ChangeBooking(props: { of: SubscriptionAddOn; name: string; onClose: () => void }) {
  const { of, name, onClose } = props;
  return (
    <FormDialog
      title={`Change ${name}`}
      onClose={onClose}
      schema="ChangeSubscriptionAddOn"
      note="As if it had been booked so: bills of closed periods are adjusted. For another quantity from some day on, end this booking then and book anew."
      // Fields have no seconds: an end that is not touched is not sent, and stays as it is.
      edited={edited(of, {
        fields: (booking) => ({ quantity: booking.quantity, until: endOf(booking) }),
        read: () => findBooking(of),
      })}
      submit={(values, key) =>
        write(changeBooking, { ...values, id: of.subscription_id, bookingId: of.id }, { key })
      }
    >
      {(form) => (
        <>
          <DecimalField form={form} name="quantity" label="Quantity" help={null} />
          <TimeField
            form={form}
            name="until"
            label="Until"
            help="Left empty: as long as the subscription lives."
          />
        </>
      )}
    </FormDialog>
  );
}
