import { CheckField, SelectField, TextField } from '../../ui/fields.tsx';
import type { PartProps } from './monitor-values.ts';

const kept = 'Stored values are shown as ***; what stays *** stays as it is stored. Another server needs them typed again.';

export function HttpFields({ values, set, errorOf, isEdit }: PartProps & { isEdit: boolean }) {
  const { method } = values;
  const isFilled = Boolean(values.headers || values.body || values.expectBodyContains || values.expectStatus || !values.followRedirects);
  return (
    <>
      <TextField
        label="Address"
        type="url"
        value={values.url}
        onChange={(url) => set({ url })}
        error={errorOf('url')}
        required
        placeholder="https://shop.example/health"
        hint={isEdit ? kept : 'http or https; addresses of private networks are refused unless the operator allows them'}
      />
      <details class="group" open={isFilled || errorOf('headers') !== undefined || method !== 'GET'}>
        <summary>Request and answer</summary>
        <SelectField
          label="Method"
          value={method}
          onChange={(next) => set({ method: next as typeof method })}
          options={['GET', 'HEAD', 'POST'].map((word) => ({ value: word, label: word }))}
        />
        <TextField
          label="Headers"
          lines={3}
          value={values.headers}
          onChange={(headers) => set({ headers })}
          error={errorOf('headers')}
          placeholder="Authorization: Bearer …"
          hint="One a line. Values are sealed and never shown again"
        />
        {method === 'POST' && <TextField label="Body" lines={3} value={values.body} onChange={(body) => set({ body })} hint="Sealed too" />}
        <TextField
          label="Statuses that pass"
          value={values.expectStatus}
          onChange={(expectStatus) => set({ expectStatus })}
          placeholder="2xx"
          hint="Such as 200, 2xx or 200-299; several with commas; 2xx by default"
        />
        {method !== 'HEAD' && (
          <TextField
            label="The answer must hold"
            value={values.expectBodyContains}
            onChange={(expectBodyContains) => set({ expectBodyContains })}
            hint="A text that a healthy answer has"
          />
        )}
        <CheckField
          label="Follow redirects"
          value={values.followRedirects}
          onChange={(followRedirects) => set({ followRedirects })}
          hint="5 at most, each judged like the first address"
        />
      </details>
    </>
  );
}

export function TcpFields({ values, set, errorOf, isEdit }: PartProps & { isEdit: boolean }) {
  return (
    <>
      <TextField
        label="Host"
        value={values.host}
        onChange={(host) => set({ host })}
        error={errorOf('host')}
        required
        placeholder="db.example"
        hint={isEdit ? kept : 'A name or an address; private networks are refused unless the operator allows them'}
      />
      <TextField label="Port" type="number" value={values.port} onChange={(port) => set({ port })} error={errorOf('port')} required />
      <CheckField label="TLS" value={values.tls} onChange={(tls) => set({ tls })} hint="Make a handshake, and verify the certificate" />
      <details class="group" open={Boolean(values.send || values.expectPrefix)}>
        <summary>Conversation</summary>
        <TextField
          label="Send"
          value={values.send}
          onChange={(send) => set({ send })}
          placeholder="PING\r\n"
          hint="After connecting; \r, \n, \t, \0 and \xff are bytes. Sealed and never shown again"
        />
        <TextField
          label="The answer must begin with"
          value={values.expectPrefix}
          onChange={(expectPrefix) => set({ expectPrefix })}
          placeholder="+PONG"
        />
      </details>
    </>
  );
}
