(* Counts words, so that modules of the library are linked: closures, functors, exceptions, formats. *)
module Words = Map.Make (String)

let count text =
  List.fold_left
    (fun words word ->
      Words.update word (function None -> Some 1 | Some n -> Some (n + 1)) words)
    Words.empty
    (String.split_on_char ' ' text)

let rec repeat n f = if n > 0 then (f n; repeat (n - 1) f)

let () =
  let table = Hashtbl.create 16 in
  repeat 1000 (fun n -> Hashtbl.replace table (Printf.sprintf "word %d" (n mod 17)) n);
  let text = Hashtbl.fold (fun word n rest -> Printf.sprintf "%s %d %s" word n rest) table "" in
  Words.iter (fun word n -> try Printf.printf "%s: %d\n" word n with Failure _ -> ()) (count text);
  Array.sort compare [| 3; 1; 2 |]
