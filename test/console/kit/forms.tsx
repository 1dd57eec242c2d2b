import { useState } from "preact/hooks";
import type { BillingModel } from "../../../src/billing/billing_models/model.ts";
import type { Company } from "../../../src/tenancy/companies/model.ts";
import type { User } from "../../../src/access/users/model.ts";
import { post, put, send } from "../../../src/console/api/call.ts";
import { write } from "../../../src/console/api/cache.ts";
import { company, me } from "../../../src/console/app/session.ts";
import { Button } from "../../../src/console/ui/button.tsx";
import { Confirm, Dialog, SecretOnce, Sheet } from "../../../src/console/ui/dialog.tsx";
import {
  CheckField,
  CheckListField,
  DecimalField,
  NumberField,
  SelectField,
  TagsField,
  TextAreaField,
  TextField,
  TimeField,
} from "../../../src/console/ui/fields.tsx";
import { Form, Rows, type Values, within } from "../../../src/console/ui/form.tsx";
import { Json, Section } from "../../../src/console/ui/page.tsx";
import { PickField } from "../../../src/console/ui/picker.tsx";
import { CLIENTS } from "./lists.tsx";

const createModel = post<typeof BillingModel>("/billing-models");
const updateUser = put<typeof User>("/users/:id");
const updateCompany = put<typeof Company>("/company");

/** The type "graduated". */
const GRADUATED = 3;

type Open = "dialog" | "sheet" | "confirm" | "secret";

export function Forms() {
  const [open, setOpen] = useState<Open>();
  const [sent, setSent] = useState<Values>();
  const close = () => setOpen(undefined);
  const { timezone, currency } = company.value;
  return (
    <Section title="Forms">
      <ModelForm />
      <NameForm />
      <EveryField onSent={setSent} />
      {sent && <Json of={sent} />}
      <div class="actions">
        {(["dialog", "sheet", "confirm", "secret"] as const).map((kind) => (
          <Button key={kind} onClick={() => setOpen(kind)}>
            Open {kind}
          </Button>
        ))}
      </div>
      {open === "dialog" && (
        <Dialog title="A dialog" onClose={close}>
          <Form act="Pick" submit={() => Promise.resolve()} onDone={close} onCancel={close}>
            {(form) => (
              <PickField form={form} name="client_id" label="Client of the dialog" source={CLIENTS} />
            )}
          </Form>
        </Dialog>
      )}
      {open === "sheet" && (
        <Sheet title="A sheet" onClose={close}>
          <p>At the side.</p>
        </Sheet>
      )}
      {open === "confirm" && (
        <Confirm
          title="Rename the company?"
          act="Rename it"
          name="Renamed"
          onClose={close}
          run={(key) => write(updateCompany, { name: "Renamed", timezone, currency }, { key })}
        >
          <p>All see it at once.</p>
        </Confirm>
      )}
      {open === "secret" && (
        <SecretOnce title="The secret" secret="mh_sk_0123456789" onClose={close}>
          <p>It is shown once.</p>
        </SecretOnce>
      )}
    </Section>
  );
}

/** Rows, and an object, in a body of the service. */
function ModelForm() {
  const [made, setMade] = useState(0);
  return (
    <Form
      schema="CreateBillingModel"
      act="Create model"
      initial={{
        billing_type_id: GRADUATED,
        price: 0,
        currency: "MYR",
        description: "By tiers",
        usage_tiers: [{ up_to: "100", unit_price: "0.5" }],
      }}
      submit={(values, key) => send(createModel, values, { key })}
      onDone={() => setMade((before) => before + 1)}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Model name" />
          <Rows form={form} name="usage_tiers" label="Tiers" add="Add tier" at_least={1} at_most={4}>
            {(row, index) => (
              <div class="field-row">
                <DecimalField form={row} name="up_to" label={`Up to ${index + 1}`} />
                <DecimalField form={row} name="unit_price" label={`Price ${index + 1}`} unit="MYR" />
              </div>
            )}
          </Rows>
          <NumberField
            form={within(form, "credit_plan")}
            name="monthly_credits"
            label="Credits"
            help={true}
          />
          <p role="status">{made} made</p>
        </>
      )}
    </Form>
  );
}

/** A name that may be taken away. */
function NameForm() {
  const [user, setUser] = useState<User>();
  const { id = 0, email, role, name } = me.value ?? {};
  return (
    <Form
      schema="UserChange"
      act="Save name"
      initial={{ email, role, name: name ?? "Somebody" }}
      submit={async (values, key) => setUser((await send(updateUser, { ...values, id }, { key })).data)}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="User name" />
          <p role="status">{user && `Saved as ${user.name}`}</p>
        </>
      )}
    </Form>
  );
}

/** What each field makes of what is typed. */
function EveryField({ onSent }: { onSent: (values: Values) => void }) {
  return (
    <Form
      act="Send all"
      initial={{ is_on: false, tags: ["one"], events: ["bill.created"] }}
      effects={({ is_on }) => is_on === true && <p role="status">It would be on.</p>}
      submit={(values) => {
        onSent(values);
        return Promise.resolve();
      }}
    >
      {(form) => (
        <>
          <TextAreaField form={form} name="note" label="Note" help="A few words." />
          <div class="field-row">
            <NumberField form={form} name="number" label="Whole number" />
            <DecimalField form={form} name="amount" label="Amount" unit="MYR" />
          </div>
          <div class="field-row">
            <TextField form={form} name="day" label="Day" type="date" />
            <TimeField form={form} name="time" label="Time" />
          </div>
          <SelectField
            form={form}
            name="days"
            label="Days"
            none="None"
            is_number
            choices={[
              { value: "7", label: "A week" },
              { value: "30", label: "A month" },
            ]}
          />
          <CheckField form={form} name="is_on" label="On" />
          <TagsField form={form} name="tags" label="Tags" />
          <CheckListField
            form={form}
            name="events"
            label="Events"
            choices={[
              { value: "bill.created", label: "Bill created" },
              { value: "bill.adjusted", label: "Bill adjusted" },
            ]}
          />
          <PickField form={form} name="client_id" label="Client" source={CLIENTS} />
        </>
      )}
    </Form>
  );
}
