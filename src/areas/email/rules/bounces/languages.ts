// The words for a recipient, a sender and an address that nobody knows, as servers say them in other languages than English.
// Endings are left open where a language bends its words.

const recipients =
  'nutzer|empf(?:ä|ae)nger|empfangsadresse|adressat|postfach|konto|adresse|direcci[oó]n|compte|bo[iî]te aux lettres|cuenta|buz[oó]n|casella|utente|caixa (?:postal|de correio)|usuario|utilizador|usu[áa]rio|destinat[áaă]r|destinataire|utilisateur|u[żz]ytkownik|odbiorc|skrzynk|gebruiker|ontvanger|användare|mottagare|bruger|modtage|bruker|mottaker|käyttäj|vastaanottaj|uživatel|příjemce|adresát|schránk|felhasználó|címzett|postafiók|kullanıcı|alıcı|utilizator|adressen|adres';
const senders =
  'absender|exp[ée]diteur|[ée]metteur|mittente|remitente|remetente|nadawc|odes[íi]latel|avsänd|afsender|avsender|afzender|lähettäj|feladó|gönderen|expeditor|отправител|送信者|差出人|发件人|寄件人|보낸 사람|발신자';
const unknown =
  "unbekannt|nicht (?:mehr )?(?:bekannt|gefunden|vorhanden|registriert|gültig)|existiert nicht|inconnu|introuvable|inexist|invalide|n'existe (?:pas|plus)|desconhecid|desconocid|no encontrad|não encontrad|no existe|n[ãa]o existe|sconosciut|inesistente|non esiste|non trovat|niezna|nie istnieje|onbekend|bestaat niet|okänd|finns inte|ukendt|findes ikke|ukjent|finnes ikke|tuntemat|ei ole olemassa|neznám|neexist|nem létezik|ismeretlen|bulunamadı|bilinmeyen|mevcut değil|necunoscut|nu există";

/** There is no such mailbox. */
export const unknownRecipient = new RegExp(
  [
    // "Empfänger: unbekannter Fehler" speaks of an error.
    `(?:${recipients})[^.;]{0,30}(?:${unknown})(?![^\\s.;]{0,4} (?:fehler|erreur|error|errore|erro|błąd|fel|fejl|feil|fout|virhe|chyba|hiba|hata)(?![a-z]))`,
    `(?:${unknown})[^\\s.;]{0,6} (?:${recipients})`,
    `(?:pas d'|aucun|n'a pas de|nessun|kein|no existe|no hay)[^\\s.;]{0,2} ?(?:ning[uú]n |este |ese |dich[oa] )?(?:${recipients}|persona\\b)`,
    // Of a directory that does not list them.
    '(?:pas|non) r[ée]pertori[ée]|nicht (?:im|in der|in dem) [^.;]{0,30}(?:verzeichnis|adressbuch)|no (?:figura|aparece|consta|está) en (?:el|la) [^.;]{0,20}(?:directorio|libreta)|non (?:presente|elencat[oa]|trovat[oa]) n[^.;]{0,30}(?:rubrica|elenco|directory)|não (?:consta|listado|está listado)[^.;]{0,20}diret[óo]rio',
    'hat (?:das|die|unsere?) (?:unternehmen|firma|haus) verlassen|nicht mehr (?:im unternehmen|bei uns|in unserem haus)',
    'a quitt[ée]|ne travaille plus|ne fait plus partie|ya no trabaja|ya no existe|já não trabalha|não trabalha mais|non lavora più|non è più (?:attiv|valid)[oa]',
    '(?:ユーザ|アドレス|宛先|あて先|メールボックス|受信者)[^。]{0,15}(?:存在しません|存在しない|不明|見つかりません)',
    '(?:адрес|пользовател|ящик|абонент|получател)[^.;]{0,40}(?:не существует|не найден|не зарегистр|неизвест)|так(?:ого|ой) (?:ящик|пользовател|адрес|абонент)',
    '(?:用户|用戶|邮箱|信箱|收件人|帳號|地址)[^。]{0,10}(?:不存在|无效|未找到)',
    '(?:사용자|수신자|받는 사람|메일박스|계정)[^.;]{0,15}(?:찾을 수 없|존재하지 않)',
  ].join('|'),
);

/** It is our sender that is not known, in the same words. */
export const unknownSender = new RegExp(
  `(?:${senders})[^.;。]{0,40}(?:${unknown}|не существует|не найден|неизвест|存在しません|不明|不存在|존재하지 않)|(?:${unknown})[^\\s.;]{0,6} (?:${senders})`,
);

/** It is our network address that is not liked. */
export const networkAddress = /adresse ip|ip-?adres|direcci[oó]n ip|indirizzo ip|endereço ip|adres ip|ip-адрес|ip地址|ipアドレス/;
