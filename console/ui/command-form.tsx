import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Line } from '../data/as-code.ts';
import type { Command, Field as FieldSpec } from '../data/commands.ts';
import { draftOf, dropDraft, keepDraft } from '../data/drafts.ts';
import { isWordList, label, type Typed, type TypedObject, take } from '../data/form-values.ts';
import { isSecret, withoutSecretFields } from '../data/secret-fields.ts';
import { useChoices } from '../data/things.ts';
import { Button } from './button.tsx';
import { CheckField, SelectField, TextField } from './fields.tsx';
import { Form } from './form.tsx';
import { Words } from './words.tsx';

interface CommandFormProps {
  command: Command;
  /** Filled in, and changed no more. */
  params?: readonly string[] | undefined;
  /** What the form begins with. */
  start?: TypedObject;
  action: string;
  why?: string | undefined;
  /** Keeps what was typed for a reload, except secrets. */
  draft?: string;
  kind?: 'primary' | 'danger';
  onCancel?: () => void;
  onSubmit(params: string[], input: Record<string, unknown>): Promise<unknown>;
  /** Told while it is typed in, for “as code”. */
  onChange?: (line: Line) => void;
  /** Shown above the button. */
  children?: ComponentChildren;
}

/** Fields that a page never asks for: lists come whole, in portions that the screen asks for. */
const isAsked = ({ name }: FieldSpec) => name !== 'cursor';
/** More of them wait behind “More”. */
const maxShownFurther = 3;

/** A form for any operation, made from the table that makes the command line. */
export function CommandForm({
  command,
  params,
  start,
  action,
  why,
  draft,
  kind = 'primary',
  onCancel,
  onSubmit,
  onChange,
  children,
}: CommandFormProps) {
  const [typed, setTyped] = useState<TypedObject>(() => ({ ...start, ...(draft ? draftOf<TypedObject>(draft) : undefined) }));
  const [wrong, setWrong] = useState<{ field: string; problem: string }>();
  const askedParams = params ? [] : command.params;
  const fields = command.fields.filter(isAsked);
  const first = [...askedParams, ...fields.filter((f) => f.required)];
  const further = fields.filter((f) => !f.required);
  const set = (name: string, value: Typed | undefined) => {
    const next = { ...typed, [name]: value };
    setTyped(next);
    setWrong(undefined);
    if (draft) keepDraft(draft, withoutSecretFields([...askedParams, ...fields], next));
  };
  useEffect(() => {
    if (!onChange) return;
    const taken = take(
      fields.map((f) => ({ ...f, required: false })),
      typed,
    );
    onChange({
      operation: command.operation,
      params: params ?? askedParams.map((p) => (typed[p.name] as string | undefined) || `<${p.name}>`),
      input: 'value' in taken ? taken.value : {},
    });
  }, [typed, command]);
  const shown = (field: FieldSpec, at: number) => (
    <AnyField
      key={field.name}
      field={field}
      value={typed[field.name]}
      isFirst={at === 0 && first.includes(field)}
      error={wrong?.field === field.name ? wrong.problem : undefined}
      onChange={(value) => set(field.name, value)}
    />
  );
  const submit = async () => {
    const of = take([...askedParams, ...fields], typed);
    if ('problem' in of) {
      setWrong(of);
      throw new Error(of.problem);
    }
    const names = askedParams.map((p) => p.name);
    const input = Object.fromEntries(Object.entries(of.value).filter(([name]) => !names.includes(name)));
    const answer = await onSubmit(params ? [...params] : names.map((name) => String(of.value[name])), input);
    if (draft) dropDraft(draft);
    return answer;
  };
  return (
    <Form onSubmit={submit} action={action} why={why} kind={kind} {...(onCancel ? { onCancel } : {})}>
      {first.map(shown)}
      {further.length > maxShownFurther && first.length > 0 ? (
        <details class="group" open={further.some((f) => typed[f.name] !== undefined)}>
          <summary>More ({further.length})</summary>
          {further.map(shown)}
        </details>
      ) : (
        further.map(shown)
      )}
      {!askedParams.length && !fields.length && <p class="faint">It takes nothing more.</p>}
      {children}
    </Form>
  );
}

interface AnyFieldProps {
  field: FieldSpec;
  value: Typed | undefined;
  onChange(value: Typed | undefined): void;
  error?: string | undefined;
  isFirst?: boolean;
}

function AnyField({ field, value, onChange, error, isFirst }: AnyFieldProps) {
  const { name, type, list, choices, required, description } = field;
  const common = { label: label(name), hint: description && <Words text={description} />, error, ...(required ? { required } : {}) };
  if (type === 'object' && field.fields)
    return list ? (
      <Repeated field={field} value={(value as TypedObject[] | undefined) ?? []} onChange={onChange} error={error} />
    ) : (
      <Group field={field} value={(value as TypedObject | undefined) ?? {}} onChange={onChange} error={error} />
    );
  const text = (value as string | undefined) ?? '';
  if (choices && !list)
    return (
      <SelectField
        {...common}
        value={text}
        onChange={onChange}
        options={optional(
          required,
          choices.map((c) => ({ value: c, label: c })),
        )}
      />
    );
  if (type === 'boolean')
    return required ? (
      <CheckField
        label={label(name)}
        value={text === 'true'}
        onChange={(on) => onChange(String(on))}
        {...(description ? { hint: description } : {})}
      />
    ) : (
      <SelectField
        {...common}
        value={text}
        onChange={onChange}
        options={optional(required, [
          { value: 'true', label: 'yes' },
          { value: 'false', label: 'no' },
        ])}
      />
    );
  if (field.thing && !list && typeof field.thing === 'string')
    return <ThingField {...common} thing={field.thing} value={text} onChange={onChange} isFirst={isFirst ?? false} />;
  // A value may hold a comma: each has a line of its own. Ids and words of a choice hold none.
  if (list) {
    const placeholder = isWordList(field) ? `separated by commas${choices ? `, of ${choices.join(', ')}` : ''}` : 'one a line';
    return <TextField {...common} value={text} onChange={onChange} lines={3} placeholder={placeholder} />;
  }
  if (type === 'record') return <TextField {...common} value={text} onChange={onChange} lines={3} placeholder="name: value" />;
  // A field of one line would drop the line breaks of what it begins with.
  if (type === 'string' && !choices && (isProse.test(name) || text.includes('\n')))
    return <TextField {...common} value={text} onChange={onChange} lines={3} isFirst={isFirst ?? false} />;
  return (
    <TextField
      {...common}
      value={text}
      onChange={onChange}
      isFirst={isFirst ?? false}
      type={isSecret(name) ? 'password' : type === 'integer' || type === 'number' ? 'number' : 'text'}
    />
  );
}

const isProse = /^(description|body|text|html|message)$/;

const optional = (required: boolean | undefined, options: { value: string; label: string }[]) =>
  required ? [{ value: '', label: 'Choose …' }, ...options] : [{ value: '', label: 'As it is' }, ...options];

const tooMany = 'There are too many to choose from a list: give the id. Ctrl K finds things by their names.';

/** The id of a thing, chosen by its name where the names can be read. */
function ThingField({
  thing,
  value,
  onChange,
  isFirst,
  ...common
}: {
  thing: string;
  value: string;
  onChange(value: string): void;
  isFirst: boolean;
  label: string;
  hint: ComponentChildren;
  error: string | undefined;
  required?: boolean;
}) {
  const { choices, isCut } = useChoices(thing);
  if (isCut) return <TextField {...common} hint={tooMany} value={value} onChange={onChange} isFirst={isFirst} />;
  if (!choices?.length) return <TextField {...common} value={value} onChange={onChange} isFirst={isFirst} />;
  const known = choices.some((choice) => choice.value === value) || !value;
  return (
    <SelectField
      {...common}
      value={value}
      onChange={onChange}
      options={[{ value: '', label: common.required ? 'Choose …' : 'None' }, ...choices, ...(known ? [] : [{ value, label: value }])]}
    />
  );
}

function Group({
  field,
  value,
  onChange,
  error,
}: {
  field: FieldSpec;
  value: TypedObject;
  onChange(value: TypedObject): void;
  error?: string | undefined;
}) {
  return (
    <details class="group" open={field.required || error !== undefined || Object.keys(value).length > 0}>
      <summary>{label(field.name)}</summary>
      {field.description && (
        <p class="hint">
          <Words text={field.description} />
        </p>
      )}
      {error && <p class="hint bad">{error}</p>}
      {field.fields!.map((inner) => (
        <AnyField
          key={inner.name}
          field={inner}
          value={value[inner.name]}
          onChange={(next) => onChange({ ...value, [inner.name]: next })}
        />
      ))}
    </details>
  );
}

function Repeated({
  field,
  value,
  onChange,
  error,
}: {
  field: FieldSpec;
  value: TypedObject[];
  onChange(value: TypedObject[]): void;
  error?: string | undefined;
}) {
  return (
    <fieldset>
      <legend>{label(field.name)}</legend>
      {field.description && (
        <p class="hint">
          <Words text={field.description} />
        </p>
      )}
      {error && <p class="hint bad">{error}</p>}
      {value.map((item, at) => (
        <div key={at} class="item">
          {field.fields!.map((inner) => (
            <AnyField
              key={inner.name}
              field={inner}
              value={item[inner.name]}
              onChange={(next) => onChange(value.with(at, { ...item, [inner.name]: next }))}
            />
          ))}
          <Button small kind="quiet" onPress={() => onChange(value.toSpliced(at, 1))}>
            Remove
          </Button>
        </div>
      ))}
      <Button small onPress={() => onChange([...value, {}])}>
        Add
      </Button>
    </fieldset>
  );
}
