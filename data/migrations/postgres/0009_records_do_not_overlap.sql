CREATE FUNCTION "billing_records_no_overlap"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW."billingStartAt" < (
    SELECT "before"."billingEndAt" FROM "billing_records" AS "before"
    WHERE "before"."subscription_id" = NEW."subscription_id" AND "before"."sequence" = 0
      AND "before"."billingStartAt" < NEW."billingEndAt" AND "before"."billingStartAt" <> NEW."billingStartAt"
    ORDER BY "before"."billingStartAt" DESC LIMIT 1)
  THEN
    RAISE EXCEPTION 'billing_records_overlap'
      USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'billing_records_overlap';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "billing_records_no_overlap" BEFORE INSERT ON "billing_records"
FOR EACH ROW WHEN (NEW."sequence" = 0) EXECUTE FUNCTION "billing_records_no_overlap"();
