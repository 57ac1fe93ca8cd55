import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface Common {
  label: string;
  hint?: ComponentChildren;
  /** What is wrong with it. */
  error?: string | undefined;
  required?: boolean;
}

interface FieldProps extends Common {
  children(ids: { id: string; describedBy: string | undefined; invalid: true | undefined }): ComponentChildren;
}

/** A label, its control, a hint and what is wrong, tied together for screen readers. */
export function Field({ label, hint, error, required, children }: FieldProps) {
  const id = useId();
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ') || undefined;
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required && <span class="faint"> (needed)</span>}
      </label>
      {children({ id, describedBy: described, invalid: error ? true : undefined })}
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} class="hint bad">
          {error}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends Common {
  value: string;
  onChange(value: string): void;
  type?: 'text' | 'search' | 'number' | 'email' | 'tel' | 'url' | 'password' | 'datetime-local' | 'time' | 'color';
  placeholder?: string;
  /** Takes the focus when the form appears. */
  isFirst?: boolean;
  lines?: number;
  list?: readonly string[];
}

export function TextField({ value, onChange, type = 'text', placeholder, isFirst, lines, list, ...common }: TextFieldProps) {
  const control = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const listId = useId();
  useEffect(() => {
    if (isFirst) control.current?.focus();
  }, []);
  return (
    <Field {...common}>
      {({ id, describedBy, invalid }) => {
        const shared = {
          id,
          ref: control,
          value,
          placeholder,
          required: common.required,
          'aria-describedby': describedBy,
          'aria-invalid': invalid,
          autocomplete: 'off',
          spellcheck: false,
        };
        return lines ? (
          <textarea {...(shared as object)} rows={lines} onInput={(event) => onChange(event.currentTarget.value)} />
        ) : (
          <>
            <input
              {...(shared as object)}
              type={type as 'text'}
              list={list ? listId : undefined}
              onInput={(event) => onChange(event.currentTarget.value)}
            />
            {list && (
              <datalist id={listId}>
                {list.map((item) => (
                  <option key={item} value={item} />
                ))}
              </datalist>
            )}
          </>
        );
      }}
    </Field>
  );
}

interface SelectProps extends Common {
  value: string;
  onChange(value: string): void;
  options: readonly { value: string; label: string }[];
}

/** A value whose option is not read yet, or may not be read, stands as it is: a browser would show the first option instead. */
const withValue = (options: SelectProps['options'], value: string): SelectProps['options'] =>
  options.some((option) => option.value === value) ? options : [...options, { value, label: value }];

export const SelectField = ({ value, onChange, options, ...common }: SelectProps) => (
  <Field {...common}>
    {({ id, describedBy, invalid }) => (
      <select
        id={id}
        value={value}
        aria-describedby={describedBy}
        aria-invalid={invalid}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {withValue(options, value).map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface FilterSelectProps extends Pick<SelectProps, 'label' | 'value' | 'onChange' | 'options'> {
  /** What no choice is called. */
  all: string;
}

/** A choice above a list. */
export const FilterSelect = ({ label, all, value, onChange, options }: FilterSelectProps) => (
  <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
    {withValue([{ value: '', label: all }, ...options], value).map((option) => (
      <option key={option.value} value={option.value} selected={option.value === value}>
        {option.label}
      </option>
    ))}
  </select>
);

export function CheckField({
  label,
  value,
  onChange,
  hint,
}: {
  label: string;
  value: boolean;
  onChange(value: boolean): void;
  hint?: string;
}) {
  const id = useId();
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={value}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  );
}
